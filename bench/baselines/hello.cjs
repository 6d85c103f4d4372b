// The smallest program that prints: what any command of the same Node costs at the least.
console.log('hello');
