export interface Store<T> {
  get(key: string): T | undefined;
  readonly size: number;
}

export type Key = string | number;

export enum Level {
  Low,
  High,
}

export abstract class Base<T> implements Store<T> {
  abstract load(): Promise<void>;
  get(key: string): T | undefined {
    return undefined;
  }
}

namespace Inner {
  export function hidden(): void {}
}

export const make = <T,>(value: T): Store<T> => new Map() as never;
declare function declared(a: number): string;
