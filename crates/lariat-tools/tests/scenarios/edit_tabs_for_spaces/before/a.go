func main() {
	if x {
		y()
	}
}
