"""Change data capture from PostgreSQL: its logical replication as a stream of rows.

    source       PostgresCdcSource and its builder
    preparation  what must be so before anything is read: settings, publication, slot
    feed         a thread that reads tables and then the replication stream
    chunks       tables in chunks, each with the moment at which it was read
    pgoutput     the messages of PostgreSQL's own output plugin
    rows         from messages to rows
    reader       puts it together, with an exact position

Tables are read in chunks while changes go on, and the stream is read from before the first chunk: a change
that a chunk saw already (its transaction is visible in the chunk's snapshot) is left out. So nothing is
locked, a restart goes on at the next chunk, and every change comes exactly once.
"""
