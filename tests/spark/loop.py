"""A bare loop of librdkafka from topic to topic, and the CPU seconds that it took. A rival of the bench."""

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition

servers, source, sink, partitions, rows = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": servers, "group.id": f"loop-{sink}", "enable.auto.commit": False})
producer = Producer({"bootstrap.servers": servers})
consumer.assign([TopicPartition(source, number, 0) for number in range(int(partitions))])
left, before = int(rows), 0.0
while left:
    for message in consumer.consume(1000, 10):
        before = before or time.process_time()
        if message.error() is not None:
            sys.exit(str(message.error()))
        while True:
            try:
                producer.produce(sink, message.value(), message.key())
                break
            except BufferError:
                producer.poll(0.1)
        left -= 1
    producer.poll(0)
if producer.flush(60):
    sys.exit("not all records were acknowledged")
consumer.commit(asynchronous=False)
print(time.process_time() - before)
consumer.close()
