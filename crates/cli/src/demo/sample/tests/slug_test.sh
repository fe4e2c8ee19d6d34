. ./tests/expect.sh
expect "two words" hello-world "$(sh src/slug.sh 'Hello World')"
expect "a comma between words" hello-world "$(sh src/slug.sh 'Hello, World')"
expect "a mark at the end" hello-world "$(sh src/slug.sh 'Hello World!')"
finish
