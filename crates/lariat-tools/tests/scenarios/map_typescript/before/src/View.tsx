export function View({ name }: { name: string }) {
  return <b>{name}</b>;
}
