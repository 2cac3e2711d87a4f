package shop;

public class Shop<T> extends Base implements Runnable {
    private int count;

    public Shop(int count) {
        this.count = count;
    }

    @Override
    public void run() {
        Runnable r = () -> {};
    }

    interface Visitor {
        void visit(Shop<?> shop) throws Exception;
    }

    enum Kind { A, B }

    record Pair(int a, int b) {}
}
