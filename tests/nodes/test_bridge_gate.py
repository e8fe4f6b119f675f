import threading

import numpy as np
from websockets.sync.client import connect

from interlock.gate.contract_robot import ContractLimits
from interlock.messages import Stop
from interlock.messages.arrays_msgpack import pack, unpack
from interlock.messages.contract import Contract
from interlock.nodes._bridge_gate import GateAdmission, limits_of
from interlock.robots.bridge import BridgeServer, RobotBridge
from interlock.robots.bridge.control_client import ControlClient

STATE = {"role": "observation", "dtype": "float32", "shape": [1]}
ACTION = {"role": "action", "shape": [1], "names": ["x"], "limits": {"min": [-1], "max": [0.1]}}
CONTRACT = {"features": {"state": STATE, "action": ACTION}}


class Slider(RobotBridge):
    contract = CONTRACT

    def reset(self, **task: object) -> str:
        self.x = np.zeros(1, np.float32)
        return "slide"

    def step(self, action: np.ndarray) -> None:
        self.x = self.x + action

    def get_observation(self) -> tuple:
        return {"state": self.x}, False


def test_every_action_over_the_wire_goes_through_the_gate() -> None:
    action = Contract.from_json(CONTRACT).action
    admission = GateAdmission(limits_of(action, most_change=np.array([0.5])))
    server = BridgeServer(Slider(), admission=admission)
    server.start()
    threading.Thread(target=server.run, daemon=True).start()
    token = ControlClient(server.control_port).call("reset")["token"]
    with connect(server.url, compression=None) as link:
        link.recv()
        link.send(pack({"claim": token}))
        link.recv()

        def act(value: float) -> dict:
            link.send(pack({"actions": np.array([value], np.float32)}))
            return unpack(link.recv())["meta"]["verdict"]

        assert act(0.1) == {"admitted": True}
        assert act(0.2)["codes"] == ["out_of_bounds"]
        assert act(-0.9)["codes"] == ["rate_of_change"]
        admission.gate(0).stop(Stop(by="ann"))
        assert "operator_stop" in act(0.1)["codes"]
    server.stop()


def test_a_contract_without_limits_has_none_in_the_gate() -> None:
    free = Contract.from_json(
        {"features": {"state": STATE, "action": {"role": "action", "shape": [2]}}}
    )
    limits = limits_of(free.action)
    assert isinstance(limits, ContractLimits)
    assert limits.names == ("value 0", "value 1")
    assert np.isinf(limits.low).all()
