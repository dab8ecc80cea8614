// Loaded before a server that has no option for its address, to keep it off the network.
import { Server } from "node:net";

const listen: unknown = Reflect.get(Server.prototype, "listen");
if (typeof listen !== "function") throw new Error("net.Server has no listen");

Reflect.set(Server.prototype, "listen", function (this: Server, ...args: unknown[]): unknown {
  if (typeof args[0] === "number" && typeof args[1] !== "string") args[1] = "127.0.0.1";
  return Reflect.apply(listen, this, args);
});
