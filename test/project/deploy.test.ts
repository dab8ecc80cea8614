import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseConfig } from "../../src/gateway/config.ts";
import { readConfigFile } from "../../src/host/config/config-file.ts";

const folder = join(import.meta.dirname, "../../docs/operations/deploy");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");
const grace = parseConfig({}).server.shutdown_grace_ms;
const seconds = (text = "0"): number => Number.parseInt(text, 10) * 1000;

/** Programs of others judge where they are there. */
function has(program: string): boolean {
  const there = (process.env["PATH"] ?? "").split(delimiter);
  return there.some((place) => existsSync(join(place, program)));
}

type Service = {
  readonly image?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition?: string }>>;
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
};
const compose = parse(read("compose.yaml")) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
};

/** A configuration of the deployment, with some text for each secret. */
function configOf(name: string, secrets: ReadonlySet<string>) {
  const source = readConfigFile(
    read(name),
    name,
    () => undefined,
    (path) => {
      expect([...secrets]).toContain(path);
      return path.endsWith("database_url") ? "postgres://u:p@database/patchbay" : "secret\n";
    },
  );
  expect(source.findings).toEqual([]);
  return parseConfig(source.value);
}

describe("the compose file", () => {
  const { patchbay, balancer } = compose.services;

  it("has gateways that are told to stop, and stop in time", () => {
    expect(seconds(patchbay?.stop_grace_period)).toBeGreaterThan(grace);
    expect(patchbay?.depends_on?.["database"]?.condition).toBe("service_healthy");
    expect(balancer?.depends_on?.["patchbay"]?.condition).toBe("service_healthy");
    expect(patchbay).toMatchObject({ read_only: true, cap_drop: ["ALL"] });
  });

  it("has its secrets in files, and a configuration that reads them there", () => {
    const given = new Set((patchbay?.secrets ?? []).map((name) => `/run/secrets/${name}`));
    const { store, server } = configOf("patchbay.yaml", given);
    expect(store.kind).toBe("postgres");
    expect(server.keys).toHaveLength(1);
    const services = Object.values(compose.services);
    const named = services.flatMap(({ secrets = [] }) => secrets);
    expect(named.filter((name) => !(name in compose.secrets))).toEqual([]);
    const variables = services.flatMap(({ environment = {} }) => Object.entries(environment));
    const secret = variables.filter(([name]) => /PASSWORD|KEY/.test(name));
    expect(
      secret.filter(
        ([name, value]) => !name.endsWith("_FILE") || !value.startsWith("/run/secrets/"),
      ),
    ).toEqual([]);
  });

  it("mounts files that are there, and has Prometheus and Grafana under a profile", () => {
    const mounted = Object.values(compose.services)
      .flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(":")[0] ?? ""))
      .filter((from) => from.startsWith("."));
    expect(mounted.filter((from) => !existsSync(resolve(folder, from)))).toEqual([]);
    const monitoring = Object.entries(compose.services).filter(([, { profiles }]) => profiles);
    expect(monitoring.map(([name]) => name)).toEqual(["prometheus", "grafana"]);
  });
});

describe("the image", () => {
  const text = read("Containerfile");

  it("runs Node itself as nobody's user, with a health check that needs no shell", () => {
    expect(text).toMatch(/^FROM gcr\.io\/distroless\/nodejs26\S*:nonroot$/m);
    expect(text).toMatch(/^USER 65532:65532$/m);
    expect(text).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(text).toMatch(/^ENTRYPOINT \["\/nodejs\/bin\/node", "\S+\/cli\.js"\]$/m);
    expect(text).toMatch(
      /^HEALTHCHECK [^]*?CMD \["\/nodejs\/bin\/node", "\S+\/cli\.js", "health"\]$/m,
    );
    expect(text).toContain("--ignore-scripts");
    expect(text).toMatch(/^CMD \["serve", "--host", "0\.0\.0\.0"\]$/m);
  });
});

describe("the systemd units", () => {
  const lines = (name: string): ReadonlyMap<string, string> =>
    new Map(
      read(name)
        .split("\n")
        .filter((line) => /^\w+=/.test(line))
        .map((line): [string, string] => [line.split("=")[0] ?? "", line.replace(/^\w+=/, "")]),
    );

  it("stop in time, take up changes, and keep keys as files", () => {
    for (const name of ["patchbay.service", "patchbay.user.service"]) {
      const unit = lines(name);
      expect(seconds(unit.get("TimeoutStopSec"))).toBeGreaterThan(grace);
      expect(unit.get("ExecReload")).toBe("/bin/kill -HUP $MAINPID");
    }
    const unit = lines("patchbay.service");
    expect(unit.get("ExecStart")).toContain("--workers 4");
    expect([...unit.keys()]).toEqual(
      expect.arrayContaining(["DynamicUser", "StateDirectory", "LoadCredential", "ProtectSystem"]),
    );
    expect(unit.has("MemoryDenyWriteExecute")).toBe(false);
  });

  it.skipIf(!has("systemd-analyze"))("are judged well by systemd itself", () => {
    const place = mkdtempSync(join(tmpdir(), "patchbay-units-"));
    try {
      // Only the programs that they start are somewhere else here.
      copyFileSync(join(folder, "patchbay.user.service"), join(place, "user.service"));
      const env = { PATH: process.env["PATH"], XDG_RUNTIME_DIR: place };
      const options = { env, encoding: "utf8", stdio: "pipe" } as const;
      execFileSync("systemd-analyze", ["--user", "verify", join(place, "user.service")], options);
      const args = [
        "security",
        "--offline=true",
        "--threshold=30",
        join(folder, "patchbay.service"),
      ];
      expect(execFileSync("systemd-analyze", args, options)).toContain("exposure level");
    } finally {
      rmSync(place, { recursive: true });
    }
  });
});

type Resource = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: Readonly<Record<string, never>>;
};

describe("the Kubernetes manifests", () => {
  const place = "kubernetes";
  const files = globSync("*.yaml", { cwd: join(folder, place) });
  const { resources, secretGenerator } = parse(read(`${place}/kustomization.yaml`)) as {
    readonly resources: readonly string[];
    readonly secretGenerator: readonly { readonly literals: readonly string[] }[];
  };

  it("are all in the kustomization", () => {
    const others = ["kustomization.yaml", "patchbay.yaml"];
    expect([...resources, ...others].toSorted()).toEqual(files.toSorted());
    const kinds = resources.map((name) => (parse(read(`${place}/${name}`)) as Resource).kind);
    expect(kinds.toSorted()).toEqual([
      "Deployment",
      "Namespace",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "Service",
      "ServiceMonitor",
    ]);
  });

  it("run two gateways that may write nothing, and stop in time", () => {
    const { spec } = parse(read(`${place}/deployment.yaml`)) as {
      spec: {
        replicas: number;
        template: {
          spec: {
            terminationGracePeriodSeconds: number;
            securityContext: object;
            containers: readonly { securityContext: object; readinessProbe: object }[];
          };
        };
      };
    };
    const pod = spec.template.spec;
    expect(spec.replicas).toBe(2);
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(grace);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
    expect(pod.containers[0]).toMatchObject({
      securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
      livenessProbe: { httpGet: { path: "/livez" } },
      readinessProbe: { httpGet: { path: "/readyz" } },
    });
  });

  it("have a configuration that reads the secrets where they are mounted", () => {
    const names = secretGenerator.flatMap(({ literals }) =>
      literals.map((one) => one.split("=")[0]),
    );
    const given = new Set(names.map((name) => `/etc/patchbay-secrets/${name}`));
    expect(configOf(`${place}/patchbay.yaml`, given).store.kind).toBe("postgres");
  });

  it.skipIf(!has("kubectl"))("are put together by kustomize", () => {
    const text = execFileSync("kubectl", ["kustomize", join(folder, place)], { encoding: "utf8" });
    const all = text.split(/^---$/m).map((one) => parse(one) as Resource);
    expect(all.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["Deployment", "ConfigMap", "Secret"]),
    );
  });
});
