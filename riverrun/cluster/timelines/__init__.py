"""How jobs went over time: their reports become series, kept for as long as the jobs are known."""
