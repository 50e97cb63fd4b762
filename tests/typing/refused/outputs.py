# fmt: off
from pydantic import BaseModel

import interlock as il


class Go(il.Event):
    text: str


class Work(BaseModel, frozen=True):
    text: str = ""
    count: int = 0


class Summary(BaseModel):
    words: tuple[str, ...]


agent = il.setup_agent(context=Work, events=[Go], output=int)


def on_count(work: Work, count: int) -> il.Move:
    return agent.stay(count=count)


agent.done(Summary, on_count)  # E:
agent.done(Summary, lambda work, summary: agent.stay(count=summary.word))  # E: "word"
agent.done(Summary, lambda work, summary: agent.stay(text=summary.words))  # E: "text"
agent.done(Summary, lambda work, summary: agent.stay(text=work.txt))  # E: "txt"
agent.done(Summary, lambda work: agent.stay())  # E:
agent.done(Summary, lambda work, summary: summary.words)  # E:
agent.done(Summary(words=()), "over")  # E:
agent.done("Summary", "over")  # E:
agent.done(Summary)  # E:
agent.done(Summary, "over", guard=lambda work, summary: summary.wrds)  # E: "wrds"
agent.state(on_done=on_count)  # E: "on_done"
agent.state(on_done=lambda work, output: agent.stay(count=output))  # E: "count"
agent.state(on_done=lambda work, output: agent.stay(text=output.words))  # E: "words"
agent.state(initial=3)  # E: "initial"
agent.state(timeout="soon", on_timeout=lambda work, event: agent.stay())  # E: "on_timeout"
agent.state(exit=lambda work, event: agent.stay())  # E: "exit"
agent.state(tags=3)  # E: "tags"
agent.parallel()  # E: "states"
agent.parallel(states=[agent.state()])  # E: "states"
agent.history(deep="yes")  # E: "deep"
agent.end(tag="x")  # E: "tag"
agent.machine("m", initial="a", states={"a": agent.state()}, delays={"soon": "3 s", "late": None})  # E:
agent.stay(count=1).emti(Go(text="x"))  # E: "emti"
agent.stay(count=1).send(Go(text="x"))  # E:
il.setup_agent(context=Work, events=[Go], emits=[Work])  # E:
il.setup_agent(context=Work, events=[Go], emits=Go)  # E: "emits"
il.setup_agent(context=Work, events=[Go], models=["quick"])  # E: "models"
il.setup_agent(context=Work, events=[Go], models={"quick": 3})  # E:
il.parse_model_ref(3)  # E:
agent.models["quick"] = "x"  # E:
