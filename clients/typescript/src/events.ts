/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** The events of a stream, in the format of the HTML standard. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  let event = "message";
  let data: string[] = [];
  for await (const line of linesOf(stream)) {
    if (line === "") {
      if (data.length > 0) {
        yield { event, data: data.join("\n") };
      }
      event = "message";
      data = [];
      continue;
    }
    // A line that begins with a colon is a heartbeat.
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) as RegExpExecArray;
    if (field === "event") {
      event = value ?? "";
    } else if (field === "data") {
      data.push(value ?? "");
    }
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/u);
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
