"""What makes a chart an agent, still pure: events and schemas, requests, decisions, legality, setup."""

__all__: list[str] = []
