"""Thin bridges to agent frameworks; each module needs its framework and nothing else.

langchain, deepagents, autogen, llamaindex, openai_agents
"""
