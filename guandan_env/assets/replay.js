"use strict";

const deals = JSON.parse(document.getElementById("data").textContent);
const SIGNS = { S: "♠\uFE0E", H: "♥\uFE0E", C: "♣\uFE0E", D: "♦\uFE0E" };
const PLACES = ["1st", "2nd", "3rd", "last"];
const byId = (id) => document.getElementById(id);
const seatOf = (seat) => document.querySelector(`.seat[data-seat="${seat}"]`);
const spotOf = (seat) => document.querySelector(`.spot[data-seat="${seat}"]`);

let deal = deals[0];
let hands = []; // by frame, then by seat: the cards as one text, two characters a card
let at = 0; // the frame that is shown: how many moves have been made
let timer = null;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function card(name, as) {
  const joker = name === "SB" || name === "HR";
  const red = name === "HR" || (!joker && "HD".includes(name[0]));
  const made = element("div", "card" + (red ? " red" : "") + (joker ? " joker" : ""));
  made.dataset.card = name;
  if (joker) {
    made.append(element("span", "rank", "★"), element("span", "word", "JOKER"));
  } else {
    const rank = name[1] === "T" ? "10" : name[1];
    made.append(element("span", "rank", rank), element("span", "suit", SIGNS[name[0]]));
    if (!as) made.append(element("span", "pip", SIGNS[name[0]]));
  }
  if (name === deal.wild) {
    made.classList.add("wild");
    made.title = as ? `wild as ${asText(as)}` : "wild";
  }
  if (as) made.append(element("span", "as", "=" + asText(as)));
  return made;
}

function asText(as) {
  const rank = as.at(-1) === "T" ? "10" : as.at(-1);
  return as.length === 2 ? rank + SIGNS[as[0]] : rank;
}

function nameOf(seat) {
  return `${deal.players[seat]} (${seat})`;
}

function drawSeat(seat, frame) {
  const section = seatOf(seat);
  const cards = hands[at][seat].match(/../g) || [];
  const place = frame.places[seat];
  section.classList.toggle("turn", frame.turn === seat);
  const plate = element("div", "plate");
  plate.append(element("span", "name", deal.players[seat]), element("span", "of", `seat ${seat}`));
  if (place) plate.append(element("span", "place", PLACES[place - 1]));
  if (cards.length) plate.append(element("span", "count", `${cards.length} cards`));
  plate.firstChild.title = deal.players[seat];
  const hand = element("div", "hand");
  hand.append(...cards.map((name) => card(name, "")));
  section.replaceChildren(plate, hand);
}

function drawSpot(seat, frame) {
  const spot = spotOf(seat);
  const number = frame.lying[seat];
  spot.replaceChildren();
  spot.classList.toggle("holds", frame.holder === seat);
  spot.classList.toggle("now", number !== null && number === at - 1);
  if (number === null) return;
  const move = deal.moves[number];
  if (move.cards) {
    const cards = element("div", "cards");
    cards.append(...move.cards.map(([name, as]) => card(name, as)));
    spot.append(cards);
  }
  spot.append(element("div", "claim", move.text));
}

function drawChoices() {
  const move = at < deal.moves.length ? deal.moves[at] : null;
  const box = byId("choices");
  box.hidden = !(move && move.choices);
  if (box.hidden) return;
  box.replaceChildren(element("h2", "", `${nameOf(move.seat)} considers`));
  for (const [claim, value] of move.choices) {
    const line = element("div", claim === move.text ? "made" : "");
    line.append(element("span", "", claim), element("b", "", value.toFixed(3)));
    box.append(line);
  }
}

function drawScore(frame) {
  const score = byId("score");
  score.replaceChildren(element("span", "", `level ${deal.level}`));
  for (const side of [0, 1]) {
    const text = `seats ${side} + ${side + 2}: ${frame.levels[side]}`;
    score.append(element("span", deal.declarer === side ? "declarer" : "", text));
  }
}

function statusText(frame) {
  const last = deal.moves.length;
  if (at === last && deal.closing.length) return deal.closing.join(" ");
  if (at === 0) return `The cards are dealt. ${nameOf(frame.turn)} begins.`;
  const move = deal.moves[at - 1];
  return `${at} of ${last}: ${nameOf(move.seat)} – ${move.text}`;
}

function draw() {
  const frame = deal.frames[at];
  const last = deal.frames.length - 1;
  document.body.dataset.move = at;
  for (let seat = 0; seat < 4; seat++) {
    drawSeat(seat, frame);
    drawSpot(seat, frame);
  }
  drawScore(frame);
  drawChoices();
  byId("status").textContent = statusText(frame);
  byId("slider").value = at;
  byId("first").disabled = byId("back").disabled = at === 0;
  byId("last").disabled = byId("next").disabled = at === last;
  const log = byId("log");
  for (const line of log.querySelectorAll(".here")) line.classList.remove("here");
  if (at > 0) {
    const line = log.children[at - 1];
    line.classList.add("here");
    // Only the list is scrolled, not the page.
    log.scrollTop = line.offsetTop - log.offsetTop - log.clientHeight / 2;
  } else {
    log.scrollTop = 0;
  }
  history.replaceState(null, "", `#${deal.number}.${at}`);
}

function go(to) {
  at = Math.max(0, Math.min(deal.frames.length - 1, to));
  if (at === deal.frames.length - 1) stop();
  draw();
}

function stop() {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = "▶▶";
}

function start() {
  if (at === deal.frames.length - 1) at = 0;
  timer = setInterval(() => go(at + 1), Number(byId("pace").value));
  byId("play").textContent = "❚❚";
}

function step(by) {
  stop();
  go(at + by);
}

function open(number, move) {
  stop();
  deal = deals.find((one) => one.number === number) || deals[0];
  let now = ["", "", "", ""];
  hands = deal.frames.map((frame) => {
    now = now.map((hand, seat) => frame.hands[seat] ?? hand);
    return now;
  });
  byId("deals").value = deal.number;
  byId("about").textContent = deal.about.join(" · ");
  byId("slider").max = deal.frames.length - 1;
  byId("log").replaceChildren(
    ...deal.moves.map((one, i) => {
      const line = element("li", one.kind === "pass" ? "quiet" : "");
      line.append(element("span", "n", i + 1), element("span", "s", one.seat));
      line.append(element("span", "", one.text));
      line.addEventListener("click", () => step(i + 1 - at));
      return line;
    }),
  );
  go(move);
}

byId("deals").append(
  ...deals.map((one) => {
    const option = element("option", "", `${one.number} – level ${one.level}`);
    option.value = one.number;
    return option;
  }),
);
byId("deals").addEventListener("change", (event) => open(Number(event.target.value), 0));
byId("slider").addEventListener("input", (event) => step(Number(event.target.value) - at));
byId("first").addEventListener("click", () => step(-at));
byId("back").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("last").addEventListener("click", () => step(deal.frames.length));
byId("play").addEventListener("click", () => (timer ? stop() : start()));
byId("pace").addEventListener("change", () => {
  if (timer) {
    stop();
    start();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName === "SELECT") return;
  const keys = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    Home: () => step(-at),
    End: () => step(deal.frames.length),
    " ": () => (timer ? stop() : start()),
  };
  // A space on a button presses that button.
  if (!(event.key in keys) || (event.key === " " && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  keys[event.key]();
});

// The address says which deal and move: #3.17
const wanted = /^#(\d+)(?:\.(\d+))?$/.exec(location.hash);
open(wanted ? Number(wanted[1]) : deals[0].number, wanted ? Number(wanted[2] || 0) : 0);
