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
    name character varying,
    cmetadata json,
    uuid uuid NOT NULL
);


--
-- Name: langchain_pg_embedding; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.langchain_pg_embedding (
    collection_id uuid,
    embedding public.vector,
    document character varying,
    cmetadata jsonb,
    custom_id character varying,
    uuid uuid NOT NULL
);


--
-- Data for Name: langchain_pg_collection; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.langchain_pg_collection VALUES ('memories', 'null', '1848f65f-6a1a-440d-9686-7c111d43eda7');
INSERT INTO public.langchain_pg_collection VALUES ('other', 'null', 'c5f728fa-16f9-48e0-a706-4bed9e707eff');


--
-- Data for Name: langchain_pg_embedding; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.49411765,0.23529412,0.5137255,0.9607843,0.32156864,0.22745098,0.2,0.05490196]', 'input: My favorite food is pizza
output: that''s good to know', '{}', '50955666-4946-48f5-9be6-9b419ae13b94', '0ea6812b-c9b1-4f40-b4a1-090fa0a1ca71');
INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.043137256,0.9843137,0.32156864,0.4862745,0.34509805,0.16862746,0.28627452,0.8862745]', 'input: My favorite sport is soccer
output: ...', '{}', '3f239e62-e76e-4560-8c17-7823f8110ae5', '76765f05-fdae-459a-9634-ffc1f4f90782');
INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.5254902,0.9254902,0.16862746,0.6392157,0.7882353,0.02745098,0.99215686,0.40392157]', 'input: 我喜欢北京 🎉
output: 好的', '{}', 'bbd1a7c5-e7a9-4743-beb7-9c31bdf64b81', '7bf447fa-063b-4051-9f34-73f18efd0536');
INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.7058824,0.02745098,0.79607844,0.63529414,0.015686275,0.92156863,0,0.8627451]', 'input: multi
line: input
output: fake
output: colon: and
newline', '{}', 'f62a0cce-a6a4-42b0-b6cd-ccacf3ebc4ed', 'a534981a-e167-4d80-b237-3ce299cc97cd');
INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}', '67e95890-b4e9-4a91-bb0a-ed0fab1853f1', '2b9497f4-5493-452d-87cf-251ec358b65a');
INSERT INTO public.langchain_pg_embedding VALUES ('1848f65f-6a1a-440d-9686-7c111d43eda7', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}', 'e4392741-8dab-41c7-ad78-66ab8d048e69', '0d5a72bf-0a42-4531-876b-ad9d0a7d1e41');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.49411765,0.23529412,0.5137255,0.9607843,0.32156864,0.22745098,0.2,0.05490196]', 'input: My favorite food is pizza
output: that''s good to know', '{}', '155e1fe7-e4be-4f29-b102-08ec83411cc4', 'cff23334-bcfe-4b1c-9fad-4d1b2c63bc22');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.043137256,0.9843137,0.32156864,0.4862745,0.34509805,0.16862746,0.28627452,0.8862745]', 'input: My favorite sport is soccer
output: ...', '{}', '06a635b5-a5b8-47ac-aaee-b4d767bca616', '43418555-3fbb-4fef-aa01-6dd911ae1d71');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.5254902,0.9254902,0.16862746,0.6392157,0.7882353,0.02745098,0.99215686,0.40392157]', 'input: 我喜欢北京 🎉
output: 好的', '{}', '83020dd0-0fcf-42f6-8e93-285108d148dc', '0e761054-20f0-4b25-9a5f-c9ec36c98d8c');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.7058824,0.02745098,0.79607844,0.63529414,0.015686275,0.92156863,0,0.8627451]', 'input: multi
line: input
output: fake
output: colon: and
newline', '{}', '39a145b3-adbd-49a6-919d-2094c5c6bc5a', '3571da2b-695a-4642-8df1-da4ed268f662');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}', 'eac0a4d0-82ee-4ed6-a54b-4d68cb986307', '5d5eb063-339b-4cc4-abef-3da5bde66d97');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', 'input: dup
output: dup', '{}', '3fa7cc8e-4012-4033-99a9-56ee45a78ec3', 'c5fb934c-25df-400f-8efc-4a14b0f3a267');
INSERT INTO public.langchain_pg_embedding VALUES ('c5f728fa-16f9-48e0-a706-4bed9e707eff', '[0.6862745,0.91764706,0.12156863,0.32941177,0.80784315,0.29411766,0.10980392,0.5058824]', 'with metadata', '{"f": 1.5, "n": 1, "t": [1, 2], "user": "u1"}', 'custom-1', '51ebcee8-1c0b-4c50-9a45-ee23b0021d97');


--
-- Name: langchain_pg_collection langchain_pg_collection_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_collection
    ADD CONSTRAINT langchain_pg_collection_pkey PRIMARY KEY (uuid);


--
-- Name: langchain_pg_embedding langchain_pg_embedding_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.langchain_pg_embedding
    ADD CONSTRAINT langchain_pg_embedding_pkey PRIMARY KEY (uuid);


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


