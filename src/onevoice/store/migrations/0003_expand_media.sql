-- Old code may keep running: yes (new tables, and columns with defaults).
-- Files that come with messages or are sent with them, and the words of voice messages.

-- A file's row is its job: what is due is found by its index, and a process that dies leaves it due again.
create table media (
    account_id text not null,
    id uuid not null,
    -- The channel and the message it came with; null for a file that was handed in to be sent.
    channel text,
    inbound_id uuid,
    -- The channel's own id of it.
    external_id text,
    kind text not null,
    filename text,
    -- What the sender claims; the bytes are checked against the digest.
    claimed_type text,
    claimed_sha256 bytea,
    state text not null,
    reason text,
    -- Of the bytes themselves.
    mime_type text,
    size_bytes bigint,
    sha256 bytea,
    seconds double precision,
    -- When the download is tried next; a running one keeps it ahead.
    next_try_at timestamptz,
    try_count integer not null default 0,
    -- Null: nobody asked for its words.
    transcription_state text,
    transcription_reason text,
    transcription_due_at timestamptz,
    transcription_try_count integer not null default 0,
    transcription_model text,
    transcription_usage jsonb,
    created_at timestamptz not null,
    ended_at timestamptz,
    constraint media_pkey primary key (account_id, id),
    constraint media_inbound_once unique (account_id, inbound_id),
    constraint media_inbound_fkey foreign key (account_id, inbound_id) references inbound_message (account_id, id),
    constraint media_kind_known check (kind in ('image', 'audio', 'video', 'document', 'sticker')),
    constraint media_state_known check (state in ('waiting', 'stored', 'failed')),
    constraint media_waiting_is_due check ((state = 'waiting') = (next_try_at is not null)),
    constraint media_stored_is_measured check (state <> 'stored' or (mime_type is not null and size_bytes is not null)),
    constraint media_failed_has_reason check (state <> 'failed' or reason is not null),
    constraint media_transcription_state_known check (
        transcription_state in ('waiting', 'done', 'silent', 'failed')),
    constraint media_transcription_needs_bytes check (
        transcription_due_at is null or (transcription_state = 'waiting' and state = 'stored')),
    constraint media_transcription_failed_has_reason check (
        transcription_state <> 'failed' or transcription_reason is not null)
);
create index media_due on media (next_try_at) where state = 'waiting';
create index media_transcription_due on media (transcription_due_at) where transcription_due_at is not null;

-- The channel's id of a file that was handed to it, good for a while: a second message with it needs no second upload.
create table media_upload (
    account_id text not null,
    media_id uuid not null,
    channel text not null,
    external_id text not null,
    uploaded_at timestamptz not null,
    constraint media_upload_pkey primary key (account_id, media_id, channel),
    constraint media_upload_media_fkey foreign key (account_id, media_id) references media (account_id, id)
);

-- A message with a file that its channel wants beforehand: how often that was tried.
alter table outbound_message add column upload_try_count integer not null default 0;

-- A turn waits for what a message consists of: for the first try of its download, for an audio's words.
alter table inbound_message
    add column wait_until timestamptz,
    add column is_awaited boolean not null default false,
    -- The conversation's arrivals when it was last amended: a turn that has seen fewer has read other words.
    add column amended_arrival bigint,
    add constraint inbound_message_awaited_has_end check (not is_awaited or wait_until is not null);

-- Both derived from the open messages: the oldest deadline among them, and whether anything is still awaited.
alter table conversation
    add column media_wait_until timestamptz,
    add column is_media_awaited boolean not null default false,
    add constraint conversation_media_wait_has_end check (not is_media_awaited or media_wait_until is not null);

do $$
declare
    name text;
begin
    foreach name in array array['media', 'media_upload'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy %I on %I to onevoice_flow using (true) with check (true)', name || '_flow', name);
        execute format(
            'create policy %I on %I to onevoice_api using (account_id = current_setting(''onevoice.account_id'')) '
            'with check (account_id = current_setting(''onevoice.account_id''))', name || '_api', name);
        execute format('grant select, insert, update on %I to onevoice_flow, onevoice_api', name);
    end loop;
end $$;
