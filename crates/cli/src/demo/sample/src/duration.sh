# Prints $1 seconds as H:MM:SS.
printf '%d:%02d:%02d\n' $(($1 / 3600)) $(($1 / 60)) $(($1 % 60))
