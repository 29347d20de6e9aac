--
-- PostgreSQL database dump
--

\restrict 0123456789abcdef

-- Dumped from database version 15.4
-- Dumped by pg_dump version 15.4

SET statement_timeout = 0;
SET standard_conforming_strings = on;

CREATE FUNCTION public.ensure_nothing() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'it''s read only; really';
END
$$;

CREATE TABLE public.users (
    id integer NOT NULL,
    username character varying(60) NOT NULL
);

--
-- Data for Name: categories; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.categories (id, name, color, topic_id, topic_count, created_at, user_id, slug, description, read_restricted, position, parent_category_id) FROM stdin;
1	Main	0088CC	\N	1	2011-03-13 07:06:40	-1	main	\N	f	1	\N
2	Talk & chat	0088CC	\N	1	2011-03-13 07:06:40	-1	talk	<p>All <i>about</i> it &amp; more</p>	f	2	1
3	News	0088CC	\N	0	2011-03-13 07:06:40	-1	news	\N	f	3	\N
4	Team	0088CC	\N	1	2011-03-13 07:06:40	-1	team	\N	t	4	\N
5	Below the team	0088CC	\N	1	2011-03-13 07:06:40	-1	below	\N	t	1	4
6	Members	0088CC	\N	1	2011-03-13 07:06:40	-1	members	\N	t	5	\N
\.


--
-- Data for Name: category_groups; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.category_groups (id, category_id, group_id, created_at, updated_at, permission_type) FROM stdin;
1	3	0	2011-03-13 07:06:40	2011-03-13 07:06:40	3
2	3	3	2011-03-13 07:06:40	2011-03-13 07:06:40	1
3	4	3	2011-03-13 07:06:40	2011-03-13 07:06:40	1
4	5	3	2011-03-13 07:06:40	2011-03-13 07:06:40	1
5	6	10	2011-03-13 07:06:40	2011-03-13 07:06:40	2
\.


--
-- Data for Name: polls; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.polls (id, post_id, name, created_at) FROM stdin;
1	14	poll	2011-03-13 07:06:40
\.


--
-- Data for Name: posts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.posts (id, user_id, topic_id, post_number, raw, cooked, created_at, deleted_at, post_type, hidden, user_deleted, version, last_version_at, last_editor_id, edit_reason) FROM stdin;
10	2	20	1	Hello **everybody**, 3 \\< 4\nsee [this](https://example.com/a)	<p>not read</p>	2011-03-13 07:06:40.123456	\N	1	f	f	1	2011-03-13 07:06:40.123456	2	\N
11	3	20	2	[quote="Ann, post:1, topic:20"]\nHello\n[/quote]\n\nHi ![dot|1x1](upload://5ALLnzS0wgl3LVbCIpBCTMlTVU2.png) and ![gone|690x420](upload://3xyz.png) :smile:	<p>not read</p>	2011-03-13 07:08:20.123456	\N	1	f	f	2	2011-03-13 07:10:00.123456	3	typo
12	7	20	4	of a guest	<p>not read</p>	2011-03-13 07:09:10.123456	\N	1	f	f	1	2011-03-13 07:09:10.123456	7	\N
13	5	20	5	BUY NOW	<p>not read</p>	2011-03-13 07:09:20.123456	2011-03-13 07:09:30.123456	1	f	f	1	2011-03-13 07:09:20.123456	5	\N
19	2	20	3		<p>not read</p>	2011-03-13 07:08:30.123456	\N	3	f	f	1	2011-03-13 07:08:30.123456	2	\N
20	2	20	6	only for the staff	<p>not read</p>	2011-03-13 07:09:40.123456	\N	4	f	f	1	2011-03-13 07:09:40.123456	2	\N
14	2	21	1	Only for the team\n\n[poll type=regular]\n* yes\n* no\n[/poll]	<p>not read</p>	2011-03-13 07:11:40.123456	\N	1	f	f	1	2011-03-13 07:11:40.123456	2	\N
15	2	22	1	Only for the team as well	<p>not read</p>	2011-03-13 07:13:20.123456	\N	1	f	f	1	2011-03-13 07:13:20.123456	2	\N
16	3	23	1	not listed	<p>not read</p>	2011-03-13 07:15:00.123456	\N	1	f	f	1	2011-03-13 07:15:00.123456	3	\N
18	3	26	1	for members	<p>not read</p>	2011-03-13 07:15:00.123456	\N	1	f	f	1	2011-03-13 07:15:00.123456	3	\N
21	2	40	1	secret of **two**	<p>not read</p>	2011-03-13 07:06:40.123456	\N	1	f	f	1	2011-03-13 07:06:40.123456	2	\N
22	3	40	2	answer	<p>not read</p>	2011-03-13 07:08:20.123456	\N	1	f	f	1	2011-03-13 07:08:20.123456	3	\N
23	3	40	3	taken back	<p>not read</p>	2011-03-13 07:08:30.123456	\N	1	f	t	1	2011-03-13 07:08:30.123456	3	\N
24	-1	41	1	Welcome to the forum	<p>not read</p>	2011-03-13 07:06:50.123456	\N	1	f	f	1	2011-03-13 07:06:50.123456	-1	\N
25	3	28	1	thrown away	<p>not read</p>	2011-03-13 07:15:00.123456	2011-03-13 07:15:10.123456	1	f	f	1	2011-03-13 07:15:00.123456	3	\N
26	2	29	1	moved to a new topic	<p>not read</p>	2011-03-13 07:21:40.123456	\N	1	f	f	1	2011-03-13 07:21:40.123456	2	\N
27	3	29	2	older than the first	<p>not read</p>	2011-03-13 07:08:20.123456	\N	1	f	f	1	2011-03-13 07:08:20.123456	3	\N
\.


--
-- Data for Name: site_settings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.site_settings (id, name, data_type, value, created_at, updated_at) FROM stdin;
1	must_approve_users	5	t	2011-03-13 07:06:40	2011-03-13 07:06:40
2	title	1	A forum	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: tag_group_memberships; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.tag_group_memberships (id, tag_id, tag_group_id, created_at, updated_at) FROM stdin;
1	3	1	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: tag_group_permissions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.tag_group_permissions (id, tag_group_id, group_id, permission_type, created_at, updated_at) FROM stdin;
1	1	3	1	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: tags; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.tags (id, name, topic_count, created_at, updated_at) FROM stdin;
1	garden	1	2011-03-13 07:06:40	2011-03-13 07:06:40
2	help-wanted	1	2011-03-13 07:06:40	2011-03-13 07:06:40
3	secret-plan	1	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: topic_allowed_users; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.topic_allowed_users (id, user_id, topic_id, created_at, updated_at) FROM stdin;
1	2	40	2011-03-13 07:06:40	2011-03-13 07:06:40
2	3	40	2011-03-13 07:06:40	2011-03-13 07:06:40
3	2	41	2011-03-13 07:06:40	2011-03-13 07:06:40
4	-1	41	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: topic_tags; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.topic_tags (id, topic_id, tag_id, created_at, updated_at) FROM stdin;
1	20	2	2011-03-13 07:06:40	2011-03-13 07:06:40
2	20	1	2011-03-13 07:06:40	2011-03-13 07:06:40
3	20	3	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: topics; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.topics (id, title, created_at, views, user_id, deleted_at, archetype, visible, closed, archived, category_id, pinned_at, subtype) FROM stdin;
20	Hello "world"	2011-03-13 07:06:40	42	2	\N	regular	t	f	f	2	2011-03-13 07:06:40	\N
21	Internal	2011-03-13 07:06:40	1	2	\N	regular	t	t	f	4	\N	\N
22	Deeper	2011-03-13 07:06:40	1	2	\N	regular	t	f	f	5	\N	\N
23	Held	2011-03-13 07:06:40	1	3	\N	regular	f	f	f	2	\N	\N
26	Word	2011-03-13 07:06:40	1	3	\N	regular	t	f	f	6	\N	\N
28	Gone	2011-03-13 07:06:40	1	3	2011-03-13 07:15:10.123456	regular	t	f	f	2	\N	\N
29	Put together	2011-03-13 07:06:40	1	2	\N	regular	t	f	t	2	\N	\N
40	A question	2011-03-13 07:06:40	1	2	\N	private_message	t	f	f	\N	\N	user_to_user
41	Greetings!	2011-03-13 07:06:40	1	-1	\N	private_message	t	f	f	\N	\N	system_message
\.


--
-- Data for Name: upload_references; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.upload_references (id, upload_id, target_type, target_id, created_at, updated_at) FROM stdin;
1	5	Post	11	2011-03-13 07:06:40	2011-03-13 07:06:40
2	6	Post	11	2011-03-13 07:06:40	2011-03-13 07:06:40
3	5	User	2	2011-03-13 07:06:40	2011-03-13 07:06:40
4	5	Post	21	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: uploads; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.uploads (id, user_id, original_filename, filesize, width, height, url, created_at, updated_at, sha1, extension) FROM stdin;
5	3	dot.png	69	1	1	/uploads/default/original/1X/2732f12a8f18d27cf0fa78ef41091bfa1ccec9ce.png	2011-03-13 07:08:10.123456	2011-03-13 07:06:40	2732f12a8f18d27cf0fa78ef41091bfa1ccec9ce	png
6	3	passwd.txt	1	\N	\N	/uploads/../../../etc/passwd	2011-03-13 07:08:10.123456	2011-03-13 07:06:40	0000000000000000000000000000000000000001	txt
\.


--
-- Data for Name: user_emails; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.user_emails (id, user_id, email, primary, created_at, updated_at) FROM stdin;
1	2	second@example.org	f	2011-03-13 07:06:40	2011-03-13 07:06:40
2	2	ann@example.org	t	2011-03-13 07:06:40	2011-03-13 07:06:40
3	3	bert@example.org	t	2011-03-13 07:06:40	2011-03-13 07:06:40
4	4	sleeper@example.org	t	2011-03-13 07:06:40	2011-03-13 07:06:40
5	5	spam@example.org	t	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: user_passwords; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.user_passwords (id, user_id, password_hash, password_salt, password_algorithm, password_expired_at, created_at, updated_at) FROM stdin;
1	2	8c81e768017af7048a1cbd9153d92fdc934c31709e6b5e836cb2370ce1fc7bd9	00112233445566778899aabbccddeeff	$pbkdf2-sha256$i=600000,l=32$	\N	2011-03-13 07:06:40	2011-03-13 07:06:40
2	4	00ff	00112233445566778899aabbccddeeff	$argon2id$v=19$	\N	2011-03-13 07:06:40	2011-03-13 07:06:40
\.


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.users (id, username, created_at, updated_at, name, password_hash, salt, password_algorithm, active, approved, staged, admin, moderator, last_seen_at, suspended_till, silenced_till, uploaded_avatar_id) FROM stdin;
-1	system	2011-03-13 07:06:40	2011-03-13 07:06:40	system	\N	\N	\N	t	t	f	t	t	\N	\N	\N	\N
2	Ann	2011-03-13 07:06:40	2011-03-13 07:06:40	Ann A.	\N	\N	\N	t	t	f	t	f	2011-03-13 07:06:40	\N	\N	5
3	Bert	2011-03-13 07:06:40	2011-03-13 07:06:40	Bert B.	1237c7f4c2928548e98679518096b9c2efca5ec61176a7e0069b4c09e9364307	ffeeddccbbaa99887766554433221100	\N	t	t	f	f	f	2011-03-13 07:06:40	\N	\N	\N
4	Sleeper	2011-03-13 07:06:40	2011-03-13 07:06:40		\N	\N	\N	t	f	f	f	f	\N	\N	\N	\N
5	Spammer	2011-03-13 07:06:40	2011-03-13 07:06:40		\N	\N	\N	t	t	f	f	f	\N	3011-01-01 00:00:00	\N	\N
7	Passer-by	2011-03-13 07:06:40	2011-03-13 07:06:40		\N	\N	\N	f	f	t	f	f	\N	\N	\N	\N
\.

CREATE INDEX index_topics_on_data ON public.topics USING btree (((data)::jsonb #>> '{a}'::text[]));

\unrestrict 0123456789abcdef

--
-- PostgreSQL database dump complete
--
