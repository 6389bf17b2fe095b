// The types of tombolo.js, for editors and for providers in TypeScript. `tombolo provider types -lang typescript` writes those of the attributes of a
// provider: class Note extends Resource<NotesNote, NotesNoteAnswer>.

/** Attributes by name. */
export type Attributes = { [name: string]: any };

/** Attributes that are unknown: true at their positions. */
export type Unknown = { [name: string]: any } | boolean;

/** The position of an attribute: ['tags', 'env']. */
export type Path = (string | number)[];

export interface Diagnostic {
  severity: 'error' | 'warning';
  summary: string;
  detail?: string;
  attribute?: Path;
}

type Awaitable<T> = T | Promise<T>;

/** One call: the members of its request, and methods to report more than the result. Each action has only some of the members. */
export class Call<A = Attributes, I = Attributes> {
  readonly type: string;
  /** The configuration of the provider. */
  readonly provider: any;
  readonly config: A;
  readonly config_unknown?: Unknown;
  readonly planned: A;
  readonly planned_unknown?: Unknown;
  readonly proposed: A;
  readonly proposed_unknown?: Unknown;
  readonly prior: A;
  readonly state: A;
  readonly private: any;
  readonly identity?: I;
  /** The id of an import. */
  readonly id?: string;
  readonly deadline?: string;
  /** Of upgrade: versions of the schema. */
  readonly from?: number;
  readonly to?: number;
  /** Of list. */
  readonly limit?: number;
  readonly include_object?: boolean;
  /** It is aborted when the call is cancelled: pass it to functions that accept one. */
  readonly signal: AbortSignal;

  /** Stores any JSON value with the object, for private of later calls. */
  keep(value: unknown): void;
  /** Reports the identity of the object. */
  identify(identity: I): void;
  /** Reports what already exists, so that it is stored if the call fails later. */
  made(attributes: Partial<A>): void;
  /** Reports when an ephemeral object has to be renewed, as an RFC 3339 time. */
  renewAt(time: string): void;
  warn(summary: string, options?: { detail?: string; attribute?: Path }): void;
  /**
   * Returns the output values of a state of another configuration, or null if there is none. The method ends here and is called again from the
   * beginning, so it must not have had any effect before. Not in create, update and delete.
   */
  remoteState(backend: string, config?: Attributes, workspace?: string): any;
  /** Reports the progress of the call, and ends it if it was cancelled. */
  progress(message: string, fraction?: number): void;
}

/** Fails a call with a message for the user. */
export class ProviderError extends globalThis.Error {
  constructor(summary: string, options?: { detail?: string; attribute?: Path; argument?: number });
  readonly detail: string;
  readonly attribute?: Path;
  /** The number of a function's argument. */
  readonly argument?: number;
}
export { ProviderError as Error };

/** Requests a retry: see "retry" in the manifest. */
export class Temporary extends ProviderError {}

/** The call was cancelled. */
export class Cancelled extends ProviderError {
  constructor();
}

/** The answer to plan. */
export interface Plan<R = Attributes> {
  planned?: R;
  planned_unknown?: Unknown;
  replace?: Path[];
  private?: unknown;
  diagnostics?: Diagnostic[];
}

/** One result of list. */
export interface Found<R = Attributes, I = Attributes> {
  identity?: I;
  display_name?: string;
  object?: R;
}

type Said = void | { diagnostics?: Diagnostic[] };

/** A type of resources. A are its attributes in requests, R those in answers, and I its identity. */
export class Resource<A = Attributes, R = Attributes, I = Attributes> {}
export interface Resource<A = Attributes, R = Attributes, I = Attributes> {
  validate?(call: Call<A, I>): Awaitable<Said>;
  plan?(call: Call<A, I>): Awaitable<Plan<R> | void>;
  create?(call: Call<A, I>): Awaitable<R>;
  read?(call: Call<A, I>): Awaitable<R | null>;
  update?(call: Call<A, I>): Awaitable<R>;
  delete?(call: Call<A, I>): Awaitable<void>;
  import?(call: Call<A, I>): Awaitable<R | null>;
  upgrade?(call: Call<any, I>): Awaitable<R>;
  list?(call: Call<any, I>): Awaitable<Iterable<Found<R, I>>>;
}

/** A type of data sources. */
export class DataSource<A = Attributes, R = Attributes> {}
export interface DataSource<A = Attributes, R = Attributes> {
  validate?(call: Call<A>): Awaitable<Said>;
  data?(call: Call<A>): Awaitable<R>;
}

/** A type of ephemeral resources. */
export class Ephemeral<A = Attributes, R = Attributes> {}
export interface Ephemeral<A = Attributes, R = Attributes> {
  validate?(call: Call<A>): Awaitable<Said>;
  open?(call: Call<A>): Awaitable<R>;
  renew?(call: Call<A>): Awaitable<void>;
  close?(call: Call<A>): Awaitable<void>;
}

/** A type of actions. */
export class Action<A = Attributes> {}
export interface Action<A = Attributes> {
  validate?(call: Call<A>): Awaitable<Said>;
  plan?(call: Call<A>): Awaitable<Said>;
  invoke?(call: Call<A>): Awaitable<void>;
}

type Types<T> = { [type: string]: new () => T };

/** Handles the calls of the host. */
export function run(provider: {
  resources?: Types<Resource<any, any, any>>;
  data?: Types<DataSource<any, any>>;
  ephemeral?: Types<Ephemeral<any, any>>;
  actions?: Types<Action<any>>;
  functions?: { [name: string]: (...args: any[]) => unknown };
  configure?(call: Call): Awaitable<Said>;
  validate?(call: Call): Awaitable<Said>;
  schema?(call: Call): Awaitable<object>;
}): Promise<void>;
