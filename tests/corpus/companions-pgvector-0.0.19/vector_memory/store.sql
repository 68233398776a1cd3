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
-- Name: custom table; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public."custom table" (
    key uuid NOT NULL,
    text text NOT NULL,
    numbers public.vector(8) NOT NULL,
    user_id character varying,
    score double precision,
    meta json
);


--
-- Name: turns_of_agent; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.turns_of_agent (
    langchain_id uuid NOT NULL,
    content text NOT NULL,
    embedding public.vector(8) NOT NULL,
    langchain_metadata json
);


--
-- Data for Name: custom table; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public."custom table" VALUES ('cafbc3bb-c4c9-4e54-90b8-41c336c8dc55', 'first of u1', '[0.21960784,0.93333334,0.9137255,0.39215687,0.95686275,0.7607843,0.96862745,0.36078432]', 'u1', 1.5, '{"more": [1]}');
INSERT INTO public."custom table" VALUES ('53748108-4997-4c3c-9594-6dc12b4e9615', 'second of u2', '[0.23137255,0.3137255,0.3019608,0.37254903,0.5176471,0.16862746,0.1882353,0.42745098]', 'u2', 0.5, '{}');
INSERT INTO public."custom table" VALUES ('540d3681-8039-4627-82d3-a702bdcd8d99', 'third of u1', '[0.7647059,0.99607843,0.0627451,0.9372549,0.94509804,0.8509804,0.5372549,0.79607844]', 'u1', 2, '{}');


--
-- Data for Name: turns_of_agent; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.turns_of_agent VALUES ('5178e92c-08de-47e8-8dda-c9be2101fe41', 'input: My favorite food is pizza
output: that''s good to know', '[0.49411765,0.23529412,0.5137255,0.9607843,0.32156864,0.22745098,0.2,0.05490196]', '{}');
INSERT INTO public.turns_of_agent VALUES ('8683941c-56b5-4495-b316-375ef7275735', 'input: My favorite sport is soccer
output: ...', '[0.043137256,0.9843137,0.32156864,0.4862745,0.34509805,0.16862746,0.28627452,0.8862745]', '{}');
INSERT INTO public.turns_of_agent VALUES ('2a093303-d1b1-4bf4-9194-7e0ad210afc6', 'input: 我喜欢北京 🎉
output: 好的', '[0.5254902,0.9254902,0.16862746,0.6392157,0.7882353,0.02745098,0.99215686,0.40392157]', '{}');
INSERT INTO public.turns_of_agent VALUES ('4fa51f3f-0cd6-4a5e-8c5d-9477f08ce1e9', 'input: multi
line: input
output: fake
output: colon: and
newline', '[0.7058824,0.02745098,0.79607844,0.63529414,0.015686275,0.92156863,0,0.8627451]', '{}');
INSERT INTO public.turns_of_agent VALUES ('6af3960d-c940-4a1f-ae4d-73915a172391', 'input: dup
output: dup', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', '{}');
INSERT INTO public.turns_of_agent VALUES ('88ce64f3-a7a7-4b5c-b96b-b0c6d0acf008', 'input: dup
output: dup', '[0.019607844,0.13333334,0.13333334,0.22745098,0.70980394,0.25882354,0.29803923,0.79607844]', '{}');


--
-- Name: custom table custom table_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public."custom table"
    ADD CONSTRAINT "custom table_pkey" PRIMARY KEY (key);


--
-- Name: turns_of_agent turns_of_agent_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.turns_of_agent
    ADD CONSTRAINT turns_of_agent_pkey PRIMARY KEY (langchain_id);


--
-- PostgreSQL database dump complete
--


