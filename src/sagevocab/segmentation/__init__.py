"""How words become pieces, with any part of a vocabulary."""
