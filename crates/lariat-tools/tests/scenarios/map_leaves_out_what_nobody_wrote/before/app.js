function app() {}
