"""AI agents that can only make legal moves: an agent is a typed statechart, and a model picks among its events."""

__version__ = "0.1.0"

__all__ = ["__version__"]
