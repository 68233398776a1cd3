from langchain_core.language_models.llms import LLM


class Concierge(LLM):
    """Repeats the request; a word is a token."""

    @property
    def _llm_type(self):
        return "concierge"

    def get_num_tokens(self, text):
        return len(text.split())

    def _call(self, prompt, stop=None, run_manager=None, **kwargs):
        asked = prompt.rsplit("Guest: ", 1)[1].splitlines()[0]
        return f"Certainly: {asked} ({prompt.count('Human')} before)"
