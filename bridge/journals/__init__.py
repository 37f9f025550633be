"""Journal adapters: databases that hold events, read in an order that agrees with commit order."""
