import { anyValue, type CommandRow, file, proxyEnvironment } from './command-row.ts';

/** The row of `bootwright watch`. */
export const watchCommand = {
  summary: 'serve a page of the installation that a service has',
  description: [
    'Each host as a rail of its stages, what it waits for, the operators, a log with a filter, and a time line. The page can only be read.',
    'Goes on until Ctrl-C, also while the service is away or refuses; then the exit code is 0. After the installation has ended nothing is asked any more.',
  ],
  argument: {
    ...anyValue('URL'),
    summary:
      'inventory service; with /api/assisted-install/v2/clusters/ID no --cluster-id is needed',
    isOptional: true,
  },
  takesInstallFlags: true,
  options: {
    listen: {
      summary: 'where the page is served; port 0 takes a free one',
      value: anyValue('ADDRESS:PORT'),
      byDefault: '127.0.0.1:0',
    },
    'page-file': {
      summary: 'write the page, with its time line, to this file at the end',
      value: file,
    },
  },
  environment: { PULL_SECRET_TOKEN: 'token of the service', ...proxyEnvironment },
  examples: [
    [
      'bootwright watch https://service:6008 --cluster-id ID --cacert ca.pem',
      'follow an installation in a browser',
    ],
    [
      'bootwright watch https://service:6008 --cluster-id ID --page-file run.html',
      'keep the time line',
    ],
  ],
} as const satisfies CommandRow;
