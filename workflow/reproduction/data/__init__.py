"""From bytes on the network and on disk to clean lines and rows."""
