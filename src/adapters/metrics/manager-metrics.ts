import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Sink } from '../../engine/events.ts';
import type { CountedHost, ManagerMetrics } from '../../ports/manager-metrics.ts';

/** In seconds: a report should be stored within one. */
const reportBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of a program in a pod, and their output. */
export interface PodMetrics extends ManagerMetrics {
  /** Counts warnings. */
  readonly sink: Sink;
  /** All metrics in the text format of Prometheus, version 0.0.4. */
  readonly text: () => Promise<string>;
}

/** Metrics of a manager: of Cluster API, with one provider or both, or of nodes. */
export function managerMetrics(): PodMetrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  const registers = [registry];
  let hosts: () => readonly CountedHost[] = () => [];
  const queues = new Map<string, () => Readonly<Record<string, number>>>();
  new Gauge({
    name: 'bootwright_hosts',
    help: 'Hosts by the stage that they have reported.',
    registers,
    labelNames: ['stage'],
    collect() {
      this.reset();
      for (const { status } of hosts()) this.inc({ stage: status?.progress?.stage ?? 'none' });
    },
  });
  const reports = new Histogram({
    name: 'bootwright_host_report_seconds',
    registers,
    buckets: reportBuckets,
    help: 'From the arrival of a report to the status of its host.',
  });
  const runs = new Counter({
    name: 'bootwright_installer_runs_total',
    labelNames: ['result'],
    registers,
    help: 'Runs of the release installer, by result.',
  });
  for (const result of ['made', 'failed']) runs.inc({ result }, 0);
  new Gauge({
    name: 'bootwright_queue_keys',
    labelNames: ['controller', 'state'],
    registers,
    help: 'Keys of a controller: at work, due, or due later.',
    collect() {
      for (const [controller, size] of queues) {
        for (const [state, keys] of Object.entries(size())) this.set({ controller, state }, keys);
      }
    },
  });
  const warnings = new Counter({
    name: 'bootwright_warnings_total',
    help: 'Warnings in the log.',
    registers,
  });
  return {
    sink: (event) => {
      if (event.type === 'note' && event.level === 'warn') warnings.inc();
    },
    countHosts: (read) => {
      hosts = read;
    },
    reportTaken: (took) => {
      reports.observe(took / 1000);
    },
    installerEnded: (result) => {
      runs.inc({ result });
    },
    queueOpened: (controller, size) => void queues.set(controller, size),
    text: () => registry.metrics(),
  };
}

/**
 * The process metrics that dashboards expect. The library's own set has forty more, uses a timer
 * that fires a hundred times a second, and reports missing measurements as numbers.
 */
function addProcessMetrics(register: Registry): void {
  const registers = [register];
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  const start = new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process, since 1970.',
    registers,
  });
  start.set(Date.now() / 1000 - process.uptime());
}
