"""The path of a message, one folder per step, and what is durable after each.

::

    inbound        the customer's message, the conversation's timer and the arrival count
    media          the message's file, in the store; or the reason why it cannot be had
    transcription  a voice message's words, and the timer of the turn that waited for them
    turn           who runs which messages under which authority version, with a lease
    proposal       nothing: the agent is asked outside any transaction
    gate           the verdict and its consequence together: answered messages and sealed replies
    outbox         an attempt is on the wire, with its deadline; later its outcome
    receipt        what the channel says of it: delivered, read, failed
    triage         what becomes of a sealed reply that a newer message overtook
    authority      who may speak, under a version that only goes up

Every step is ``decide`` (pure) and ``perform`` (lock the conversation in a statement of its own,
then read, decide, save, commit). ``conversation`` holds what all of them share: the lock, the
timers derived from rows, the journal. Kill any process after any statement: the rows say what is left to do.
"""
