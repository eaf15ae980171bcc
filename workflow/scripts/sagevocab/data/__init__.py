"""Bytes on the network and on disk become clean lines and rows."""
