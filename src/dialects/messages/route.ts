/** Below a base URL that ends in `/v1`. */
export const messagesRoute = "/messages";
export const messagesDoor = `/v1${messagesRoute}`;
