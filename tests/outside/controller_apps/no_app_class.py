"""Imports RyuApp, but derives nothing from it."""

from ryu.base.app_manager import RyuApp

APP = RyuApp
