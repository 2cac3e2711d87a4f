function out() {}
