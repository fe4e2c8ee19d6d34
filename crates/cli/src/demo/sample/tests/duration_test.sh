. ./tests/expect.sh
expect "under an hour" 0:02:05 "$(sh src/duration.sh 125)"
expect "over an hour" 1:02:05 "$(sh src/duration.sh 3725)"
finish
