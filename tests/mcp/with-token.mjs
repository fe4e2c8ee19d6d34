// Hands requests on to a server with a token, for clients that cannot be told one. Everything else stays as it came, `Host` and
// `Origin` above all: what is asked of a server is what the client asked.
//
// Usage: node with-token.mjs URL_FILE TOKEN_FILE; prints the address that it listens on. Both are read for each request: a server
// that is to know this address starts later.
import { readFileSync } from "node:fs";
import http from "node:http";

const [urlFile, tokenFile] = process.argv.slice(2);
const line = (file) => readFileSync(file, "utf8").trim();

const proxy = http.createServer((asked, answer) => {
  const { method, url: path, headers } = asked;
  const { hostname, port } = new URL(line(urlFile));
  const authorization = `Bearer ${line(tokenFile)}`;
  const onward = http.request({ hostname, port, method, path, headers: { ...headers, authorization } }, (told) => {
    answer.writeHead(told.statusCode, told.headers);
    told.pipe(answer);
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
});
proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}`));
