import { exceptionsIn } from '../lib/proxies.ts';
import { embeddedFile, PULL_SECRET_PATH } from './resource.ts';
import type { Config } from './types.ts';

/** Everything that a live system needs to run the agent, once per boot. */
export interface LiveAgent {
  readonly image: string;
  /** Arguments of the agent, after its image. */
  readonly args: readonly string[];
  /** A command that ends when the image is on the host. */
  readonly pull: readonly string[];
  /** A command that runs each time the agent has ended. */
  readonly afterwards?: readonly string[];
  /** Text of a .dockerconfigjson. */
  readonly pullSecret?: string | undefined;
  /** Values of HTTP_PROXY, HTTPS_PROXY and NO_PROXY; `''` if not set. */
  readonly proxy?: Readonly<Record<string, string | undefined>>;
  /** PEM of certificate authorities that the live system trusts in addition to its own. */
  readonly trustBundle?: string | undefined;
  readonly sshAuthorizedKeys?: readonly string[] | undefined;
  /** Further files: path, text, mode. */
  readonly files: readonly LiveFile[];
}

/** A file of the live system; omitted if its text is undefined. */
export type LiveFile = readonly [path: string, text: string | Buffer | undefined, mode: number];

/** Folder of the agent's own files; its container has the folder at the same path. */
export const agentFolder = '/etc/bootwright';

/** Files that belong to the live system, not to the agent. */
export const livePaths = {
  proxy: `${agentFolder}/proxy.env`,
  pullSecret: PULL_SECRET_PATH,
  trust: '/etc/pki/ca-trust/source/anchors/bootwright.crt',
} as const;

/** The unit that runs the agent. */
export const agentUnitName = 'bootwright.service';

/**
 * The Ignition config of a live system that runs the agent, in a spec version that every CoreOS
 * since OpenShift 4.7 reads.
 */
export const liveConfig = (agent: LiveAgent): Config => ({
  ignition: { version: '3.2.0' },
  ...passwdOf(agent),
  storage: {
    files: liveFiles(agent).flatMap(([path, text, mode]) =>
      text === undefined ? [] : [embeddedFile(path, text, mode)],
    ),
  },
  systemd: { units: [{ name: agentUnitName, enabled: true, contents: agentUnit(agent) }] },
});

const passwdOf = ({ sshAuthorizedKeys = [] }: LiveAgent): Pick<Config, 'passwd'> =>
  sshAuthorizedKeys.length === 0
    ? {}
    : { passwd: { users: [{ name: 'core', sshAuthorizedKeys: [...new Set(sshAuthorizedKeys)] }] } };

const liveFiles = (agent: LiveAgent): readonly LiveFile[] => [
  ...agent.files,
  [livePaths.proxy, proxyVariables(agent), 0o600],
  [livePaths.pullSecret, agent.pullSecret, 0o600],
  [livePaths.trust, agent.trustBundle, 0o644],
];

/**
 * A file for systemd's EnvironmentFile: podman uses these variables for its pull and passes them to
 * the container.
 */
function proxyVariables({ proxy = {} }: LiveAgent): string | undefined {
  const lines = Object.entries(proxy).flatMap(([name, value = '']) => {
    const written = name === 'NO_PROXY' ? exceptionsIn(value).join(',') : value;
    return written === '' ? [] : [`${name}=${quoted(written)}\n`];
  });
  return lines.length === 0 ? undefined : lines.join('');
}

/** Exit codes of the agent that are final. podman's own exit codes begin at 125. */
const finalExits = '2 3 7 8';

function agentUnit(agent: LiveAgent): string {
  const { pull, afterwards, trustBundle } = agent;
  const line = (words: readonly string[]): string => words.map(unitWord).join(' ');
  return [
    '[Unit]',
    'Description=Install this host',
    'Wants=network-online.target',
    'After=network-online.target multi-user.target',
    // A host that cannot be installed stays unchanged for an inspection.
    'StartLimitBurst=4',
    'StartLimitIntervalSec=1d',
    '',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'TimeoutStartSec=infinity',
    ...(proxyVariables(agent) === undefined ? [] : [`EnvironmentFile=${livePaths.proxy}`]),
    ...(trustBundle === undefined ? [] : ['ExecStartPre=/usr/bin/update-ca-trust']),
    `ExecStartPre=${line(pull)}`,
    'ExecStartPre=-/usr/bin/podman rm --force --ignore assisted-installer',
    `ExecStart=${line(agentArgv(agent))}`,
    ...(afterwards === undefined ? [] : [`ExecStopPost=-${line(afterwards)}`]),
    'Restart=on-failure',
    'RestartSec=30s',
    `RestartPreventExitStatus=${finalExits}`,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');
}

const agentArgv = ({ image, args, pullSecret }: LiveAgent): readonly string[] => [
  ...['/usr/bin/podman', 'run', '--rm', '--name', 'assisted-installer', '--privileged'],
  ...['--pid=host', '--net=host', '--log-driver=none', '-v', '/dev:/dev:rw'],
  ...(pullSecret === undefined ? [] : ['--authfile', livePaths.pullSecret]),
  ...[image, ...args],
];

/**
 * A word of a command in a unit: systemd interprets quotes, specifiers and variables in it
 * (systemd.service, "Command lines").
 */
export const unitWord = (word: string): string => {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w./:@%=,+-]+$/.test(escaped) ? escaped : quoted(escaped);
};

/** A quoted word for systemd: control characters are written by their code. */
const quoted = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll(
    // oxlint-disable-next-line no-control-regex
    /[\u0000-\u001f\u007f]/g,
    (control) => String.raw`\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )}"`;
