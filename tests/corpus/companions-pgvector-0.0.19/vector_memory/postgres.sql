--
-- PostgreSQL database dump
--


-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: vector; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;


--
-- Name: EXTENSION vector; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: langchain_pg_collection; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.langchain_pg_collection (
    uuid uuid NOT NULL,
    name character varying NOT NULL,
    cmetadata json
);


--
-- Name: langchain_pg_embedding; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.langchain_pg_embedding (
    id character varying NOT NULL,
    collection_id uuid,
    embedding public.vector,
    document character varying,
    cmetadata jsonb
);


--
-- Data for Name: langchain_pg_collection; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.langchain_pg_collection VALUES ('7da9b793-c366-4e4c-a0ec-8a64ddabda19', 'memories', 'null');
INSERT INTO public.langchain_pg_collection VALUES ('87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', 'other', 'null');


--
-- Data for Name: langchain_pg_embedding; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.langchain_pg_embedding VALUES ('45f8afbf-29c4-489b-a33b-c4111c86818f', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.49411765,0.23529412,0.5137255,0.9607843,0.32156864,0.22745098,0.2,0.05490196]', 'input: My favorite food is pizza
output: that''s good to know', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('4fbeea4a-4222-4f2d-b710-ae3bfc4c50c5', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.043137256,0.9843137,0.32156864,0.4862745,0.34509805,0.16862746,0.28627452,0.8862745]', 'input: My favorite sport is soccer
output: ...', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('480cb18d-b4bd-4a40-89a1-b4a4fa748b88', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.5254902,0.9254902,0.16862746,0.6392157,0.7882353,0.02745098,0.99215686,0.40392157]', 'input: 我喜欢北京 🎉
output: 好的', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('437154df-af45-4b2f-a7c6-762840fe875f', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.7058824,0.02745098,0.79607844,0.63529414,0.015686275,0.92156863,0,0.8627451]', 'input: multi
line: input
output: fake
output: colon: and
newline', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('103da251-0fb2-46df-af02-d5cb49926285', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('ba8c4b88-7a6a-4080-9833-cf06fdb3e741', '7da9b793-c366-4e4c-a0ec-8a64ddabda19', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('13d65652-dfac-4d6b-b5f9-6f40105c73ec', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.49411765,0.23529412,0.5137255,0.9607843,0.32156864,0.22745098,0.2,0.05490196]', 'input: My favorite food is pizza
output: that''s good to know', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('13c0f330-df83-4f9f-86f8-1cdf5fec3ada', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.043137256,0.9843137,0.32156864,0.4862745,0.34509805,0.16862746,0.28627452,0.8862745]', 'input: My favorite sport is soccer
output: ...', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('0d4630f7-aaca-4940-a6df-78c7762d2195', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.5254902,0.9254902,0.16862746,0.6392157,0.7882353,0.02745098,0.99215686,0.40392157]', 'input: 我喜欢北京 🎉
output: 好的', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('b4de1a79-fd18-4592-87e1-97fc5cd946bb', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.7058824,0.02745098,0.79607844,0.63529414,0.015686275,0.92156863,0,0.8627451]', 'input: multi
line: input
output: fake
output: colon: and
newline', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('7e0822a6-9f14-45fa-a355-b585fd9b0325', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('f0f76ff6-ff2a-43fe-af3c-493685232661', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}');
INSERT INTO public.langchain_pg_embedding VALUES ('custom-1', '87fbcd2e-9850-4ac1-8cbb-9fd4c3761f79', '[0.6862745,0.91764706,0.12156863,0.32941177,0.80784315,0.29411766,0.10980392,0.5058824]', 'with metadata', '{"f": 1.5, "n": 1, "t": [1, 2], "user": "u1"}');


--
-- Name: langchain_pg_collection langchain_pg_collection_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_name_key UNIQUE (name);


--
-- Name: langchain_pg_collection langchain_pg_collection_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_pkey PRIMARY KEY (uuid);


--
-- Name: langchain_pg_embedding langchain_pg_embedding_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_pkey PRIMARY KEY (id);


--
-- Name: ix_cmetadata_gin; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_cmetadata_gin ON public.langchain_pg_embedding USING gin (cmetadata jsonb_path_ops);


--
-- Name: langchain_pg_embedding langchain_pg_embedding_collection_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_collection_id_fkey FOREIGN KEY (collection_id) REFERENCES public.langchain_pg_collection(uuid) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


