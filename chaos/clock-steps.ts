/** Loaded before the gateway: each SIGUSR2 steps the machine's date, as it seems to this process, by hours. */
const real = Date.now.bind(Date);
let offset = 0;
Date.now = () => real() + offset;
process.on("SIGUSR2", () => {
  offset = Math.round((Math.random() - 0.5) * 48 * 3_600_000);
});
