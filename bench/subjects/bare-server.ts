// Passes requests on and answers back with what Patchbay is built on, and looks at neither.
import { createServer } from "node:http";
import { Pool, type Dispatcher } from "undici";

const [port, upstream] = process.argv.slice(2).map(Number);
const pool = new Pool(`http://127.0.0.1:${upstream}`, { connections: 256, allowH2: false });

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const answer: Dispatcher.DispatchHandler = {
      onRequestStart() {},
      onResponseStart(_, status, headers) {
        const length = headers["content-length"];
        response.writeHead(status, {
          "content-type": String(headers["content-type"]),
          ...(length !== undefined && { "content-length": Number(length) }),
        });
      },
      onResponseData: (_, chunk) => void response.write(chunk),
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    };
    const headers = ["content-type", "application/json"];
    const path = request.url ?? "/";
    pool.dispatch({ method: "POST", path, headers, body: Buffer.concat(chunks) }, answer);
  });
});
server.listen(port, "127.0.0.1");
