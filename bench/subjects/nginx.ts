import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { freePort, startServer, temporaryFolder } from "../processes.ts";
import { Absent, type OpenSubject } from "./subject.ts";

/** The floor: one nginx process that passes bytes on as they come. */
export const openNginx: OpenSubject = async (upstream) => {
  const command = find();
  if (!command) throw new Absent("nginx is not on PATH (Debian: apt-get install nginx-light)");
  const port = await freePort();
  const folder = temporaryFolder();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(port, upstream.port, folder));
  const args = ["-p", folder, "-c", file, "-e", "/dev/null"];
  const pid = await startServer({ command, args, folder, port });
  return [{ name: "nginx", door: "chat", port, headers: {}, pid }];
};

function find(): string | undefined {
  const path = (process.env["PATH"] ?? "").split(delimiter);
  // Debian keeps it where a plain user's PATH does not look.
  return [...path, "/usr/sbin"]
    .map((folder) => join(folder, "nginx"))
    .find((file) => existsSync(file));
}

function configuration(port: number, upstream: number, folder: string): string {
  return `
daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log /dev/null crit;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 1m;
  client_body_temp_path ${folder};
  proxy_temp_path ${folder};
  fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder};
  scgi_temp_path ${folder};
  upstream model {
    server 127.0.0.1:${upstream};
    keepalive 64;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
