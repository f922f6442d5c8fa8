/** A sample of a metric; its labels are words of our own, and none from outside. */
export interface Sample {
  /** What follows the name of the metric, as `_count`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric that is read when it is asked for (Prometheus, text format 0.0.4). */
export interface Figure {
  /** Without `bootwright_`. */
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly samples: () => readonly Sample[];
}
