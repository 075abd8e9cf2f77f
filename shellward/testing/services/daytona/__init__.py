"""A loopback Daytona: speaks its REST, websockets and Socket.IO to the real SDK, and runs what it is asked to run.

``python -m shellward.testing.services.daytona`` is the program; ``launch.Launched`` starts it for tests. Sandboxes are
``boxes``; nothing in them reaches a network. Every call is recorded, and one that it has no answer for is recorded as
lacking. Faults and records are at ``/_service/...``:

    GET    /_service/calls      {"calls": [...], "lacking": [...]}
    DELETE /_service/calls      forget them
    POST   /_service/faults     {"unavailable": 2, "expired": true, "quota": true, "limited": 1};
                                all of them: faults.Faults; none of them goes on after {}
    GET    /_service/sandboxes  all sandboxes
    GET    /_service/table/ID   the processes of a sandbox
    POST   /_service/evict/ID   a sandbox is gone at once, as if its machine had failed
    POST   /_service/break/ID   the websockets of a sandbox are cut off
"""
