"""`guandan serve`: rooms in which bots of the NJUPT platform and our agents play over WebSocket.

`terms` says what is allowed, `peer` holds a connection at arm's length, `room` plays the games of
one table, `server` lets connections in and leads them to their seats.
"""
