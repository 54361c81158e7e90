"""Forces of the model, and reactions of joints."""
