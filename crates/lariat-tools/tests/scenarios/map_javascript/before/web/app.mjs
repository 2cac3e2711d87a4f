import { x } from "./x.mjs";

export class App extends Base {
  constructor(name) {
    super();
  }

  static async start(port = 80) {
    const inner = () => 1;
  }
}

export function render(node, { deep }) {
  return node;
}

function* numbers() {}

export const add = (a, b) => a + b;
const handler = async function (event) {
  return event;
};
const plain = 3;
