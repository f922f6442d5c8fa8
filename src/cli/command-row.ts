/** What completes a value on the command line: its words, names of files, of commands, or nothing. */
export type Completion = 'words' | 'files' | 'directories' | 'commands' | 'nothing';

/** A value of an option, or an argument of a command. */
export interface ValueRow {
  /** Stands for the value in a usage line. */
  readonly placeholder: string;
  readonly completes: Completion;
  /** The only values that are taken. */
  readonly words?: readonly string[];
}

/** An option of a command; one without a value is a switch. */
export interface OptionRow {
  readonly summary: string;
  readonly value?: ValueRow;
  readonly isRequired?: true;
  /** Each use adds a value. */
  readonly isRepeatable?: true;
  /** What holds without it. */
  readonly byDefault?: string;
}

/** The argument of a command. */
export interface ArgumentRow extends ValueRow {
  readonly summary: string;
  readonly isRepeatable?: true;
  readonly isOptional?: true;
}

/** One command. Parsing, help, suggestions, completion, `docs/cli.md` and the man page are made of its row. */
export interface CommandRow {
  /** What it does, as short as the list of commands needs it. */
  readonly summary: string;
  /** What else a person should know, a paragraph each. */
  readonly description?: readonly string[];
  readonly argument?: ArgumentRow;
  readonly options?: Readonly<Record<string, OptionRow>>;
  /** Takes every flag of an install, by the rules of those. */
  readonly takesInstallFlags?: true;
  /** What exit codes mean that the common table does not say. */
  readonly exitCodes?: Readonly<Record<number, string>>;
  /** Variables that it reads beside the common ones. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly examples?: readonly (readonly [line: string, purpose: string])[];
  /** A command that has commands does nothing itself. */
  readonly commands?: CommandTable;
}

/** Commands by name, in the order of the help. */
export type CommandTable = Readonly<Record<string, CommandRow>>;

/** Names a value of any form. */
export const anyValue = (placeholder: string): ValueRow => ({ placeholder, completes: 'nothing' });

/** A file that is read. */
export const file: ValueRow = { placeholder: 'FILE', completes: 'files' };

/** A directory. */
export const directory: ValueRow = { placeholder: 'DIR', completes: 'directories' };

/** One of some words. */
export const oneOf = (placeholder: string, words: readonly string[]): ValueRow => ({
  placeholder,
  completes: 'words',
  words,
});

/** The option `--format`; the first form is the default. */
export const format = (...forms: readonly [string, ...string[]]): OptionRow => ({
  summary: `output format: ${forms.join(', ')}`,
  value: oneOf('FORMAT', forms),
  byDefault: forms[0],
});

/** Options of what works on a cluster from outside. */
export const administrator = {
  kubeconfig: { summary: 'kubeconfig of a cluster administrator', value: file, isRequired: true },
} as const satisfies Readonly<Record<string, OptionRow>>;

/** Options of the programs that run in a pod. */
export const inPod = {
  kubeconfig: {
    summary: 'kubeconfig of the cluster; default: the service account of the pod',
    value: file,
  },
  verbose: { summary: 'log at level debug' },
  metrics: { summary: 'serve Prometheus metrics on HOST:PORT', value: anyValue('ADDR') },
} as const satisfies Readonly<Record<string, OptionRow>>;

/** What says who watches a run. */
export const watchersEnvironment = {
  NOTIFY_SOCKET: 'socket of systemd, which sets it, and WATCHDOG_USEC',
  'OTEL_EXPORTER_OTLP_ENDPOINT …': 'collector of OpenTelemetry, for spans',
  TRACEPARENT: 'the span that they belong to',
} as const;

/** The service of a cluster's API, as every pod has it, and who watches. */
export const podEnvironment = {
  ...watchersEnvironment,
  KUBERNETES_SERVICE_HOST: 'address of the API; set in every pod',
  KUBERNETES_SERVICE_PORT: 'its port; 443 unless set',
} as const;

/** The proxies of whoever runs the command. */
export const proxyEnvironment = {
  'HTTP_PROXY HTTPS_PROXY NO_PROXY': 'proxies, in upper or lower case',
} as const;
