/**
 * Connects to ports of the loopback interface of a network namespace at the request of the parent process, and passes the
 * connected sockets to it. Ends when the parent disconnects.
 */
export function connectInside(): void {
  // Loaded here: most commands need no network code.
  const net = process.getBuiltinModule('node:net');
  process.once('disconnect', () => process.exit());
  process.on('message', ({ id, port }: { id: number; port: number }) => {
    const socket = net.connect({ host: 'localhost', port });
    // Its data belongs to the parent.
    socket.pause();
    socket.once('connect', () => process.send?.({ id }, socket));
    socket.once('error', () => process.send?.({ id }));
  });
}
