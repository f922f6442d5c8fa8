import { refuseErrors } from '../../ignition/finding.ts';
import { mergeConfigs } from '../../ignition/merge.ts';
import { parseValidConfig, renderConfig } from '../../ignition/parse.ts';
import type { Config, File } from '../../ignition/types.ts';
import { type DiskHints, renderDiskHints } from '../../lib/disk-hints.ts';
import { validateConfig } from '../../ignition/validate.ts';

/** The role of a host while it is installed. */
export type MachineRole = 'bootstrap' | 'master' | 'worker';

/** All that a live system must know to run the agent for one host. */
export interface MachineInput {
  readonly role: MachineRole;
  readonly clusterId: string;
  readonly infraEnvId: string;
  readonly hostId: string;
  readonly inventoryUrl: string;
  /** By which the inventory knows the host. */
  readonly token: string;
  /** PEM by which the host trusts the inventory, beside the authorities of its system. */
  readonly inventoryCa?: string | undefined;
  readonly agentImage: string;
  readonly agentArgs?: readonly string[] | undefined;
  readonly installDevice?: string | undefined;
  readonly rootDeviceHints?: DiskHints | undefined;
  /** Container image that is deployed into the running root, instead of a disk write. */
  readonly existingRoot?: string | undefined;
  /** Of hosts of the control plane. */
  readonly openshiftVersion?: string | undefined;
  readonly controlPlaneCount?: number | undefined;
  readonly mcoImage?: string | undefined;
  readonly kernelArguments?: readonly string[] | undefined;
  readonly proxy?:
    | { readonly httpProxy?: string; readonly httpsProxy?: string; readonly noProxy?: string }
    | undefined;
  /** Text of a .dockerconfigjson. */
  readonly pullSecret?: string | undefined;
  readonly sshAuthorizedKeys?: readonly string[] | undefined;
  readonly trustBundle?: string | undefined;
  /** Text of a file in registries.conf.d. */
  readonly registries?: string | undefined;
  /** Of NetworkManager, by the names of their files. */
  readonly keyfiles?: Readonly<Record<string, string>> | undefined;
  /** Ignition that is merged over all of this. */
  readonly override?: string | undefined;
}

/** Every CoreOS since OpenShift 4.7 reads it. */
const specVersion = '3.2.0';

/** Where the agent finds what is its own; its container sees the folder as it is on the host. */
const folder = '/etc/bootwright';
const paths = {
  token: `${folder}/token`,
  ca: `${folder}/ca.crt`,
  proxy: `${folder}/proxy.env`,
  script: `${folder}/agent.sh`,
  pullSecret: '/root/.docker/config.json',
  /** As the agent keeps it unless told otherwise, and the end of it. */
  agentLog: '/var/log/assisted-installer.log',
  sentLog: '/run/bootwright-agent.log',
} as const;

/**
 * The Ignition of the live system of one host, as JSON: it runs the agent with its role. It is secret.
 * @throws AgentError `ignition.*` for an override that cannot be used
 */
export function machineIgnition(input: MachineInput): string {
  const base: Config = {
    ignition: { version: specVersion },
    ...passwdOf(input),
    storage: { files: filesOf(input) },
    systemd: { units: [{ name: unitName, enabled: true, contents: agentUnit(input) }] },
  };
  const merged =
    input.override === undefined
      ? base
      : mergeConfigs(base, parseValidConfig(input.override).config);
  refuseErrors(validateConfig(merged), 'ignition.merge-invalid');
  return renderConfig(merged);
}

const passwdOf = ({ sshAuthorizedKeys = [] }: MachineInput): Pick<Config, 'passwd'> =>
  sshAuthorizedKeys.length === 0
    ? {}
    : { passwd: { users: [{ name: 'core', sshAuthorizedKeys }] } };

/** A file with its text inside the config. */
export const embeddedFile = (path: string, text: string, mode: number): File => ({
  ...{ path, mode, overwrite: true },
  contents: { source: `data:;base64,${Buffer.from(text).toString('base64')}` },
});

function filesOf(input: MachineInput): File[] {
  const { token, inventoryCa, pullSecret, trustBundle, registries, keyfiles = {} } = input;
  const proxy = proxyVariables(input);
  const given: readonly (readonly [string, string | undefined, number])[] = [
    [paths.token, token, 0o600],
    [paths.script, agentScript(input), 0o700],
    [paths.ca, inventoryCa, 0o644],
    [paths.proxy, proxy, 0o600],
    [paths.pullSecret, pullSecret, 0o600],
    ['/etc/pki/ca-trust/source/anchors/bootwright.crt', trustBundle, 0o644],
    ['/etc/containers/registries.conf.d/99-bootwright.conf', registries, 0o644],
    ...Object.entries(keyfiles).map(
      ([name, text]) => [`/etc/NetworkManager/system-connections/${name}`, text, 0o600] as const,
    ),
  ];
  return given.flatMap(([path, text, mode]) =>
    text === undefined ? [] : [embeddedFile(path, text, mode)],
  );
}

/** A file for systemd's EnvironmentFile: podman hands these variables on, and pulls with them. */
function proxyVariables({ proxy }: MachineInput): string | undefined {
  const variables = {
    HTTP_PROXY: proxy?.httpProxy,
    HTTPS_PROXY: proxy?.httpsProxy,
    NO_PROXY: proxy?.noProxy,
  };
  const lines = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${quoted(value)}\n`],
  );
  return lines.length === 0 ? undefined : lines.join('');
}

const unitName = 'bootwright.service';

/** Of an agent, its own: what podman fails with itself begins at 125. */
const finalExits = '2 3 7 8';

/**
 * The unit that runs the agent, once for a boot. One that could not run at all is reported by a few lines of shell: whoever
 * waits learns of an image that cannot be pulled within seconds.
 */
function agentUnit(input: MachineInput): string {
  const { trustBundle } = input;
  return [
    '[Unit]',
    'Description=Install this host',
    'Wants=network-online.target',
    'After=network-online.target multi-user.target',
    // A host that cannot be installed stays as it is, for somebody to look at.
    'StartLimitBurst=4',
    'StartLimitIntervalSec=1d',
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'TimeoutStartSec=infinity',
    ...(proxyVariables(input) === undefined ? [] : [`EnvironmentFile=${paths.proxy}`]),
    ...(trustBundle === undefined ? [] : ['ExecStartPre=/usr/bin/update-ca-trust']),
    `ExecStartPre=/bin/bash ${paths.script} pull ${unitWord(input.agentImage)}`,
    'ExecStartPre=-/usr/bin/podman rm --force --ignore assisted-installer',
    `ExecStart=${agentArgv(input).map(unitWord).join(' ')}`,
    `ExecStopPost=-/bin/bash ${paths.script} report`,
    'Restart=on-failure',
    'RestartSec=30s',
    `RestartPreventExitStatus=${finalExits}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

/** What the agent's container shares with its host, as the unit of a live host that is set up by hand has it. */
const shared = [
  ...['/dev:/dev:rw', '/opt:/opt:rw', '/var/log:/var/log:rw'],
  ...['/run/systemd/journal/socket:/run/systemd/journal/socket', '/etc/pki:/etc/pki'],
  ...['/tmp:/tmp', `${folder}:${folder}:ro`],
].flatMap((volume) => ['-v', volume]);

function agentArgv(input: MachineInput): readonly string[] {
  const { role, agentImage, agentArgs = [], pullSecret } = input;
  return [
    ...['/usr/bin/podman', 'run', '--rm', '--name', 'assisted-installer', '--privileged'],
    ...['--pid=host', '--net=host', '--log-driver=none', ...shared],
    ...(pullSecret === undefined ? [] : ['--authfile', paths.pullSecret]),
    ...[agentImage, '-r', role],
    // Nodes call nobody outside of their cluster: the control-plane provider reads how far they are.
    ...(role === 'bootstrap' ? ['--controller.withoutService'] : []),
    // Its log is sent by the unit: no image of another maker is pulled for that.
    '--agent-image=',
    ...flagsOf(input),
    ...agentArgs,
  ];
}

function flagsOf(input: MachineInput): readonly string[] {
  const flags: Readonly<Record<string, string | undefined>> = {
    url: input.inventoryUrl,
    'cluster-id': input.clusterId,
    'infra-env-id': input.infraEnvId,
    'host-id': input.hostId,
    'service.tokenFile': paths.token,
    cacert: input.inventoryCa === undefined ? undefined : paths.ca,
    'boot-device': input.installDevice,
    'disk.hints': input.rootDeviceHints && renderDiskHints(input.rootDeviceHints),
    'coreos-image': input.existingRoot,
    'openshift-version': input.openshiftVersion,
    'control-plane-count': input.controlPlaneCount?.toString(),
    'mco-image': input.mcoImage,
    // The controller of the new cluster is this program too.
    'controller-image': input.role === 'bootstrap' ? input.agentImage : undefined,
    'installer-args': writerArgs(input),
  };
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
}

/** Arguments of coreos-installer, for the installed system; the same ones count where no disk is written. */
function writerArgs({ kernelArguments = [], keyfiles = {} }: MachineInput): string | undefined {
  const args = [
    ...kernelArguments.flatMap((one) => ['--append-karg', one]),
    ...(Object.keys(keyfiles).length === 0 ? [] : ['--copy-network']),
  ];
  return args.length === 0 ? undefined : JSON.stringify(args);
}

/** A word of a command in a unit: systemd reads quotes, specifiers and variables in it (systemd.service, "Command lines"). */
export const unitWord = (word: string): string => {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w./:@%=,+-]+$/.test(escaped) ? escaped : quoted(escaped);
};

/** Between quotes as systemd reads them: control characters by their code. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f]/g,
    (control) => String.raw`\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )}"`;

/** The end of the log of an agent that has failed: so many bytes are sent. */
export const hostLogBytes = 64 * 1024;

/**
 * Pulls the image of the agent until it is there, and reports a host whose agent cannot run: podman itself fails with 125 and
 * above, and the agent says below that why it ended. Of each failure the end of the log follows. Nothing secret is among the arguments of a command.
 */
function agentScript({
  inventoryUrl,
  clusterId,
  infraEnvId,
  hostId,
  inventoryCa,
  pullSecret,
}: MachineInput) {
  const base = inventoryUrl.endsWith('/') ? inventoryUrl : `${inventoryUrl}/`;
  const urlOf = (path: string): string =>
    `'${new URL(`api/assisted-install/v2/${path}`, base).href.replaceAll("'", '%27')}'`;
  const progress = urlOf(`infra-envs/${infraEnvId}/hosts/${hostId}/progress`);
  const query = new URLSearchParams({
    logs_type: 'host',
    infra_env_id: infraEnvId,
    host_id: hostId,
  });
  const logs = urlOf(`clusters/${clusterId}/logs?${query.toString()}`);
  const cacert = inventoryCa === undefined ? '' : `cacert = "${paths.ca}"\\n`;
  const authfile = pullSecret === undefined ? '' : `--authfile ${paths.pullSecret} `;
  return `#!/bin/bash
# agent.sh pull IMAGE | report; called by ${unitName}.
ask() {
  printf 'header = "X-Secret-Key: %s"\\n${cacert}' "$(cat ${paths.token})" |
    curl --silent --show-error --fail --max-time 20 --config - "$@"
}
report() {
  info=$(tr -c '[:print:]' ' ' | tr -d '"\\\\' | tail -c 900)
  ask --request PUT --header 'Content-Type: application/json' \\
    --data-binary "{\\"current_stage\\":\\"Failed\\",\\"progress_info\\":\\"the agent did not start: $info\\"}" \\
    ${progress}
}
if [ "$1" = pull ]; then
  pause=5
  until podman image exists "$2" || said=$(podman pull --quiet ${authfile}"$2" 2>&1); do
    printf '%s' "$said" | report
    sleep $pause
    pause=$((pause < 160 ? pause * 2 : 300))
  done
  exit 0
fi
[ "$SERVICE_RESULT" = success ] && exit 0
[ "$(systemctl is-system-running)" = stopping ] && exit 0
words=$(journalctl _SYSTEMD_INVOCATION_ID="$INVOCATION_ID" --lines 500 --output cat)
[ "\${EXIT_STATUS:-125}" -lt 125 ] 2>/dev/null || tail -n 5 <<<"$words" | report
umask 077
tail -c ${hostLogBytes} ${paths.agentLog} >${paths.sentLog} 2>/dev/null || printf '%s\\n' "$words" >${paths.sentLog}
ask --form 'upfile=@${paths.sentLog};filename=agent.log;type=text/plain' \\
  ${logs}
`;
}
