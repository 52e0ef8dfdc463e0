PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE claude_schema (version bigint not null);
INSERT INTO claude_schema VALUES(1);
CREATE TABLE claude_transcripts (
			id integer primary key autoincrement,
			project text not null,
			session text not null,
			sub text not null,
			next bigint not null default 0,
			modified bigint not null default 0,
			summary blob,
			unique (project, session, sub));
INSERT INTO claude_transcripts VALUES(1,'p','00000000-0000-4000-8000-000000000001','',2,1795011713163000,X'7b22626567756e223a747275657d');
INSERT INTO claude_transcripts VALUES(2,'p','00000000-0000-4000-8000-000000000001','subagents/agent-1',2,1795011713163000,NULL);
CREATE TABLE claude_entries (
			transcript bigint not null references claude_transcripts (id) on delete cascade,
			seq bigint not null,
			uuid blob,
			line blob not null,
			primary key (transcript, seq));
INSERT INTO claude_entries VALUES(1,0,X'31',X'7b2274797065223a2275736572222c2275756964223a2231227d');
INSERT INTO claude_entries VALUES(1,1,NULL,X'7b2274797065223a22746167227d');
INSERT INTO claude_entries VALUES(2,0,X'31',X'7b2274797065223a2275736572222c2275756964223a2231227d');
INSERT INTO claude_entries VALUES(2,1,NULL,X'7b2274797065223a22746167227d');
CREATE TABLE claude_batches (
			transcript bigint not null references claude_transcripts (id) on delete cascade,
			id text not null,
			primary key (transcript, id));
INSERT INTO claude_batches VALUES(1,'b1');
INSERT INTO claude_batches VALUES(2,'b1');
CREATE TABLE claude_deleted (
			project text not null,
			session text not null,
			primary key (project, session));
INSERT INTO claude_deleted VALUES('p','00000000-0000-4000-8000-000000000002');
CREATE TABLE claude_leases (
			project text not null,
			name text not null,
			owner text not null,
			token bigint not null,
			ends bigint not null,
			primary key (project, name));
INSERT INTO claude_leases VALUES('p','l','me',1,0);
CREATE TABLE claude_revisions(n);
INSERT INTO claude_revisions VALUES(2);
CREATE TABLE claude_records (
			project text not null,
			kind text not null,
			name text not null,
			revision bigint not null,
			value blob not null,
			primary key (project, kind, name));
INSERT INTO claude_records VALUES('p','k','a/b',2,X'32');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('claude_transcripts',2);
CREATE INDEX claude_transcripts_list on claude_transcripts (project, sub, modified);
CREATE UNIQUE INDEX claude_entries_uuid on claude_entries (transcript, uuid) where uuid is not null;
COMMIT;
