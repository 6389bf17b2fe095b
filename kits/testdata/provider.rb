# Items are JSON files in a folder.
require "json"
require "securerandom"

require_relative "tombolo"

puts "what is printed is no answer"
system "echo nor is what children print"

class Item < Tombolo::Resource
  def path(call, id) = File.join(call.provider["root"], "#{id}.json")

  def validate(call)
    raise Tombolo::Error.new("No such name", attribute: ["name"]) if call.config["name"] == "bad"
  end

  def create(call)
    id = SecureRandom.uuid
    if call.planned["slow"]
      call.progress("waiting", 0.5)
      stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + call.planned["slow"]
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
        sleep 0.05
        call.progress("still waiting")
      end
    end
    if call.planned["name"] == "half"
      call.made(id: id)
      call.warn("Half is done")
      raise Tombolo::Error.new("Only half", detail: "the other half is missing")
    end
    call.keep(made: true)
    store(call, call.planned.merge("id" => id))
  end

  def update(call)
    raise Tombolo::Error, "The private data is #{call.private}" unless call.private == {"made" => true}

    store(call, call.planned)
  end

  def store(call, item)
    item = item.merge("shout" => item["name"].upcase)
    amount = item["amount"]
    File.write(path(call, item["id"]), JSON.generate(item.merge("amount" => amount && amount.to_s)))
    item
  end

  def read(call)
    JSON.parse(File.read(path(call, call.state["id"])))
  rescue Errno::ENOENT
    nil
  end

  def delete(call)
    File.delete(path(call, call.state["id"]))
  rescue Errno::ENOENT
    nil
  end

  def import(call)
    id = call.identity ? call.identity["id"] : call.id
    {id: id} if File.exist?(path(call, id))
  end

  def list(call)
    items = Dir[File.join(call.provider["root"], "*.json")].sort.map { |name| JSON.parse(File.read(name)) }
    items.select { |item| item["name"].start_with?(call.config["prefix"]) }.map do |item|
      {identity: {id: item["id"]}, display_name: item["name"], object: call.include_object ? item : nil}.compact
    end
  end
end

class Append < Tombolo::Action
  def plan(call)
    raise Tombolo::Error.new("Nothing to append", attribute: ["text"]) if call.config["text"] == ""
  end

  def invoke(call)
    call.progress("appending", 0.5)
    File.write(File.join(call.provider["root"], "log"), call.config["text"], mode: "a")
    call.warn("Appended")
  end
end

class Count < Tombolo::DataSource
  def data(call) = {files: Dir.children(call.config["folder"]).length}
end

class Token < Tombolo::Ephemeral
  def open(call)
    call.keep(lease: 7)
    {token: "t-#{call.config["scope"]}"}
  end

  def close(call)
    raise Tombolo::Error, "no lease" unless call.private == {"lease" => 7}
  end
end

upper = lambda do |text|
  raise Tombolo::Error.new("it is empty", argument: 0) if text.empty?

  text.upcase
end

configure = lambda do |call|
  raise Tombolo::Error.new("There is no root", attribute: ["root"]) if call.provider["root"].empty?
end

Tombolo.run(resources: {kit_item: Item}, data: {kit_count: Count}, ephemeral: {kit_token: Token}, actions: {kit_append: Append},
            functions: {upper: upper}, configure: configure)
